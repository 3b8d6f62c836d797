import { newApp, CHAT, chatBody, CONFIG } from "./support/app.ts";
import { ANSWER, ENDING, word } from "./support/chat.ts";
const server = Deno.serve({port:0, hostname:"127.0.0.1", onListen(){}}, async (r) => { const b = await r.json(); return b.stream ? new Response(word("a")+word("b")+ENDING, {headers:{"content-type":"text/event-stream"}}) : Response.json(ANSWER) });
const app = newApp({ fetch, config: { ...CONFIG, upstreams: { ...CONFIG.upstreams, fake: { driver: "chat", baseUrl: `http://127.0.0.1:${server.addr.port}/v1` } } } });
const gw = Deno.serve({port:0, hostname:"127.0.0.1", onListen(){}}, (r, i) => app.fetch(r, i));
const url = `http://127.0.0.1:${gw.addr.port}${CHAT}`;
for (const stream of [false, true]) for (let r = 0; r < 6; r++) { for (let i = 0; i < 100; i++) await Promise.all(Array.from({length: 20}, async () => { await (await fetch(url, {method: "POST", body: JSON.stringify(chatBody({stream}))})).text() })); app.logs.length = 0; await new Promise(r=>setTimeout(r,50)); (globalThis as any).gc(); console.log(stream, r, (Deno.memoryUsage().heapUsed/1e6).toFixed(1), (Deno.memoryUsage().rss/1e6).toFixed(0)); }
Deno.exit()
