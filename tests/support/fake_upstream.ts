/** A request that a fake upstream received. */
export interface Asked {
  method: string;
  url: URL;
  headers: Headers;
  body: string;
  signal: AbortSignal;
}

/** An upstream made of functions, to be injected as `fetch`. */
export interface FakeUpstream {
  fetch: typeof fetch;
  /** In the order of arrival. */
  asked: Asked[];
}

/** Answers call number `n`, counted from 0; the last answer serves all that follow. */
export function fakeUpstream(...answers: ((asked: Asked) => Response | Promise<Response>)[]): FakeUpstream {
  const asked: Asked[] = [];
  return {
    asked,
    async fetch(input, init) {
      const request = new Request(input, init);
      const { method, headers, signal } = request;
      const call = { method, url: new URL(request.url), headers, body: await request.text(), signal };
      const answer = answers[Math.min(asked.push(call), answers.length) - 1];
      if (!answer) throw new TypeError("The fake upstream has no answer");
      request.signal.throwIfAborted();
      return await answer(call);
    },
  };
}
