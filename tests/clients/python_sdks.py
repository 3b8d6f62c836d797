"""What programs do with a vendor's SDK, against a gateway: `python_sdks.py <sdk> <address> <key>`. Prints a JSON line for each."""

import base64
import json
import sys
import traceback


def openai_sdk(address: str, key: str):
    import openai
    from pydantic import BaseModel

    yield "version", lambda: openai.__version__
    client = openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0)
    hello = [{"role": "user", "content": "Hello"}]
    tool = {"type": "function", "function": {
        "name": "get_weather",
        "description": "The weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }}

    def whole():
        answer = client.chat.completions.create(model="sandbox", messages=hello)
        assert answer.choices[0].message.content and answer.usage.total_tokens > 0, answer

    def streamed():
        stream = client.chat.completions.create(
            model="sandbox", messages=hello, stream=True, stream_options={"include_usage": True})
        chunks = list(stream)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert chunks[-1].usage.total_tokens > 0, chunks[-1]

    def tools():
        asked = [{"role": "user", "content": "Call get_weather"}]
        first = client.chat.completions.create(model="sandbox", messages=asked, tools=[tool])
        call = first.choices[0].message.tool_calls[0]
        assert list(json.loads(call.function.arguments)) == ["city"], call
        result = {"role": "tool", "tool_call_id": call.id, "content": "Sunny"}
        second = client.chat.completions.create(
            model="sandbox", messages=[*asked, first.choices[0].message, result], tools=[tool])
        assert "Sunny" in second.choices[0].message.content, second

    def parsed():
        class City(BaseModel):
            name: str
            people: int

        answer = client.chat.completions.parse(model="sandbox", messages=hello, response_format=City)
        assert isinstance(answer.choices[0].message.parsed, City), answer

    def responses():
        first = client.responses.create(model="sandbox", input="Hello")
        second = client.responses.create(model="sandbox", input="Again", previous_response_id=first.id)
        assert second.output_text and second.previous_response_id == first.id, second
        assert client.responses.retrieve(first.id).id == first.id
        client.responses.delete(first.id)

    def responses_streamed():
        with client.responses.stream(model="sandbox", input="Hello") as stream:
            kinds = [event.type for event in stream]
            assert stream.get_final_response().output_text
        assert kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds

    def others():
        vectors = client.embeddings.create(model="sandbox-embedding", input=["a", "b"])
        assert len(vectors.data) == 2
        assert "sandbox" in [model.id for model in client.models.list()]
        speech = client.audio.speech.create(
            model="sandbox-speech", input="Good morning", voice="alloy", response_format="wav")
        heard = client.audio.transcriptions.create(model="sandbox-transcription", file=("a.wav", speech.content))
        assert heard.text
        drawn = client.images.generate(model="sandbox-image", prompt="A fox", size="64x64")
        picture = base64.b64decode(drawn.data[0].b64_json)
        changed = client.images.edit(model="sandbox-image", prompt="A red fox", image=("a.png", picture))
        assert changed.data[0].b64_json != drawn.data[0].b64_json and changed.size == "64x64"

    def errors():
        raises(openai.NotFoundError, lambda: client.chat.completions.create(model="nothing", messages=hello))
        raises(openai.BadRequestError, lambda: client.responses.create(
            model="sandbox", input="Again", previous_response_id="resp_1"))
        stranger = client.with_options(api_key="nobody's")
        raises(openai.AuthenticationError, lambda: stranger.models.list())

    yield from named(whole, streamed, tools, parsed, responses, responses_streamed, others, errors)


def anthropic_sdk(address: str, key: str):
    import anthropic

    yield "version", lambda: anthropic.__version__
    client = anthropic.Anthropic(base_url=address, api_key=key, max_retries=0)
    hello = [{"role": "user", "content": "Hello"}]
    base = {"model": "sandbox", "max_tokens": 500}
    tool = {
        "name": "get_weather",
        "description": "The weather of a city",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }

    def text_of(message):
        return "".join(block.text for block in message.content if block.type == "text")

    def whole():
        message = client.messages.create(**base, messages=hello)
        assert text_of(message) and message.usage.input_tokens > 0, message

    def streamed():
        with client.messages.stream(**base, messages=hello) as stream:
            text = "".join(stream.text_stream)
            message = stream.get_final_message()
        assert text == text_of(message) and message.stop_reason == "end_turn", message

    def tools():
        asked = [{"role": "user", "content": "Call get_weather"}]
        first = client.messages.create(**base, tools=[tool], messages=asked)
        call = next(block for block in first.content if block.type == "tool_use")
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "Sunny"}
        turns = [*asked, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
        second = client.messages.create(**base, tools=[tool], messages=turns)
        assert "Sunny" in text_of(second), second

    def thinking():
        budget = {"type": "enabled", "budget_tokens": 1024}
        first = client.messages.create(model="sandbox", max_tokens=2000, thinking=budget, messages=hello)
        assert first.content[0].type == "thinking" and first.content[0].signature, first
        turns = [*hello, {"role": "assistant", "content": first.content}, *hello]
        assert text_of(client.messages.create(model="sandbox", max_tokens=2000, thinking=budget, messages=turns))

    def threads():
        for streams in [False, True]:
            thread = client.beta.messages.thread(**base, system="Be brief.")
            ids = []
            for text in ["one", "two", "three"]:
                turn = {"role": "user", "content": text}
                if streams:
                    with thread.stream(turn) as stream:
                        message = stream.get_final_message()
                else:
                    message = thread.send(turn)
                assert text_of(message), message
                ids.append(message.id)
            assert len(set(ids)) == 3 and thread.previous_message_id == ids[-1], ids
            again = {"type": "continue", "previous_message_id": ids[0]}
            error = raises(anthropic.BadRequestError, lambda: client.beta.messages.create(
                **base, messages=hello, thread=again, betas=["message-threads-2026-08-12"]))
            assert "already" in str(error), error

    def others():
        assert client.messages.count_tokens(model="sandbox", messages=hello).input_tokens > 0
        client.models.list()

    def errors():
        raises(anthropic.NotFoundError, lambda: client.messages.create(model="nothing", max_tokens=5, messages=hello))
        raises(anthropic.BadRequestError, lambda: client.messages.create(**base, messages=[]))
        stranger = client.with_options(api_key="nobody's")
        raises(anthropic.AuthenticationError, lambda: stranger.models.list())

    yield from named(whole, streamed, tools, thinking, threads, others, errors)


def google_sdk(address: str, key: str):
    from google import genai
    from google.genai import errors as kinds
    from google.genai import types

    yield "version", lambda: genai.__version__
    client = genai.Client(api_key=key, http_options={"base_url": address})

    def whole():
        answer = client.models.generate_content(model="sandbox", contents="Hello")
        assert answer.text and answer.usage_metadata.total_token_count > 0, answer

    def streamed():
        pieces = list(client.models.generate_content_stream(model="sandbox", contents="Hello"))
        assert "".join(piece.text or "" for piece in pieces), pieces

    def tools():
        def get_weather(city: str) -> str:
            """The weather of a city."""
            return "Sunny"

        config = types.GenerateContentConfig(tools=[get_weather])
        answer = client.models.generate_content(model="sandbox", contents="Call get_weather", config=config)
        assert "Sunny" in answer.text, answer

    def chat():
        talk = client.chats.create(model="sandbox")
        assert talk.send_message("Hello").text and talk.send_message("Again").text

    def others():
        assert client.models.count_tokens(model="sandbox", contents="Hello").total_tokens > 0
        vectors = client.models.embed_content(model="sandbox-embedding", contents=["a", "b"])
        assert len(vectors.embeddings) == 2, vectors
        assert any("sandbox" in model.name for model in client.models.list())

    def errors():
        error = raises(kinds.ClientError, lambda: client.models.generate_content(model="nothing", contents="Hello"))
        assert error.code == 404, error
        error = raises(Exception, lambda: client.interactions.create(model="sandbox", input="Hello"))
        assert "generateContent" in str(error), error

    yield from named(whole, streamed, tools, chat, others, errors)


def named(*functions):
    for function in functions:
        yield function.__name__, function


def raises(kind, act):
    try:
        act()
    except kind as error:
        return error
    raise AssertionError(f"It raised no {kind.__name__}")


if __name__ == "__main__":
    sdk, address, key = sys.argv[1:]
    for name, act in {"openai": openai_sdk, "anthropic": anthropic_sdk, "google-genai": google_sdk}[sdk](address, key):
        try:
            print(json.dumps({"name": name, "result": act()}))
        except Exception:
            print(json.dumps({"name": name, "failure": traceback.format_exc()}))
