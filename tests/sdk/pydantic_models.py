"""Reads answers, one JSON line each, and writes a line for each that the vendors' own models refuse."""

import json
import sys

from anthropic.types import Message, RawMessageStreamEvent
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter, ValidationError

WHOLE = {"chat": ChatCompletion, "messages": Message, "responses": Response}
STREAM = {"chat": ChatCompletionChunk, "messages": RawMessageStreamEvent, "responses": ResponseStreamEvent}
ADAPTERS = {
    **{("whole", wire): TypeAdapter(model) for wire, model in WHOLE.items()},
    **{("streamed", wire): TypeAdapter(model) for wire, model in STREAM.items()},
}

for line in sys.stdin:
    answer = json.loads(line)
    adapter = ADAPTERS.get((answer["mode"], answer["wire"]))
    if adapter is None:
        continue
    try:
        adapter.validate_python(answer["value"])
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        print(json.dumps({"name": answer["name"], "fault": f"{place}: {first['msg']}"}))
