/** Answers in which the gateway runs hosted tools, cut and left at every point, on all wires: they end as any other answer. */
import { assert, assertEquals } from "@std/assert";
import { assertAnswer } from "../support/answer_shapes.ts";
import { bodyOf, boundariesOf, latin1, piecesOf } from "../support/chunks.ts";
import { answerOn, ASKS, type HostedRig, newHostedRig } from "../support/hosted_rig.ts";
import { type Wire, WIRES } from "../support/wires.ts";

const search = (query: string) => `web_search{"query":"${query}"}`;
/** Two searches at once, then one beside a call of the client's. */
const ROUNDS = [
  ["(hm)", "Let me see 🙂.", search("a"), search("b")],
  ["(ah)", "It rains [1].", search("c"), 'mine{"d":1}'],
];
const CLIENTS = ["chat", "messages", "responses"] as const;

function ask({ app }: HostedRig, client: string, stream: boolean, signal?: AbortSignal): Promise<Response> {
  const { path, body } = ASKS[client]!;
  return app.fetch(
    new Request(`http://gateway${path}`, { method: "POST", body: JSON.stringify(body({ stream })), signal }),
  );
}

/** Where the frame begins that says how the answer ended. */
function endingOf(bytes: Uint8Array<ArrayBuffer>, { marks }: Wire): number {
  const ending = latin1(bytes).search(marks.ending);
  return boundariesOf(bytes).findLast((at) => at <= ending)!;
}

/** An upstream whose answers end where they break off. */
const endingOn = ({ name }: Wire) => ({
  fake: { driver: name, baseUrl: "http://upstream.test/v1", continuation: "off" as const },
});

for (const wire of WIRES) {
  for (const client of CLIENTS) {
    Deno.test(`hosted: an upstream of ${wire.name} that ends or breaks at any frame of any round, to a client of ${client}`, async () => {
      const { error } = WIRES.find(({ name }) => name === client)!.marks;
      for (const [round, says] of ROUNDS.entries()) {
        const bytes = new Uint8Array(await (await answerOn(wire, says, true)).arrayBuffer());
        const ending = endingOf(bytes, wire);
        for (const at of boundariesOf(bytes).slice(0, -1)) {
          for (const failure of [undefined, new TypeError("reset")]) {
            const pieces = (bytes: Uint8Array<ArrayBuffer>, of: number) =>
              of === round ? bodyOf(at === 0 ? [] : [bytes.subarray(0, at)], failure) : bodyOf([bytes]);
            const rig = newHostedRig({ wire, rounds: ROUNDS, pieces, config: { upstreams: endingOn(wire) } });
            const response = await ask(rig, client, true);
            const text = await response.text();
            await assertAnswer(client, response, text);
            assert(rig.asked.every(({ isOpen }) => !isOpen), "Nothing of the upstream is held any more");
            assert(rig.asked.length <= ROUNDS.length, "Nobody is asked again");
            const hasFailed = response.status !== 200 || text.includes(error);
            assertEquals(hasFailed, at <= ending, "An answer without its end is none");
          }
        }
      }
    });

    Deno.test(`hosted: a client of ${client} that leaves while searches run takes them along, and ${wire.name} too`, async () => {
      for (const stream of [false, true]) {
        const running: AbortSignal[] = [];
        const began = Promise.withResolvers<void>();
        const rig = newHostedRig({
          wire,
          rounds: ROUNDS,
          search({ signal }) {
            if (running.push(signal) === 2) began.resolve();
            return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
          },
        });
        const leave = new AbortController();
        const answer = ask(rig, client, stream, leave.signal).then((response) => response.text()).catch(() => {});
        await began.promise;
        leave.abort();
        await answer;
        await rig.app.settled();
        assertEquals(running.map(({ aborted }) => aborted), [true, true]);
        assertEquals(rig.asked.map(({ isOpen }) => isOpen), [false]);
      }
    });

    Deno.test(`hosted: an upstream of ${wire.name} that breaks while searches run ends them, for a client of ${client}`, async () => {
      const running: AbortSignal[] = [];
      const rig = newHostedRig({
        wire,
        rounds: ROUNDS,
        pieces: (bytes) => bodyOf([bytes.subarray(0, endingOf(bytes, wire))], new TypeError("reset")),
        search({ signal }) {
          running.push(signal);
          return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        },
      });
      const response = await ask(rig, client, true);
      await assertAnswer(client, response, await response.text());
      assert(running.length > 0 && running.every(({ aborted }) => aborted));
    });

    Deno.test(`hosted: the bytes of ${wire.name} and of searches may come one by one, to a client of ${client}`, async () => {
      const answers: string[] = [];
      for (const size of [Infinity, 7, 1]) {
        const found = new TextEncoder().encode('{"results":[{"url":"https://a.test/","title":"Ü 🙂","content":"é"}]}');
        const rig = newHostedRig({
          wire,
          rounds: ROUNDS,
          pieces: (bytes) => bodyOf(piecesOf(bytes, Math.min(size, bytes.length))),
          search: () => new Response(bodyOf(piecesOf(found, Math.min(size, found.length)))),
        });
        const response = await ask(rig, client, true);
        const text = await response.text();
        await assertAnswer(client, response, text);
        // What is sealed is sealed anew each time.
        answers.push(text.replace(/lw1\.[\w-]+/g, "sealed"));
      }
      assertEquals(new Set(answers).size, 1);
    });
  }
}
