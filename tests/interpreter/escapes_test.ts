/** Python that tries to leave its container, to use up the machine, or to leave something for the next one. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { withContainers } from "../support/interpreter.ts";

/** The way from Python to the engine's own objects: every function has a constructor. */
const ENGINE = "import pyodide_js as p\nM = p._module\nF = p.runPython.constructor\n";

/** Code that must end in an error of these words, and not with the word "leaked". */
const REFUSED: Readonly<Record<string, [code: string, words: RegExp]>> = {
  "the page's own fetch": ["import js\nprint('leaked', js.fetch)", /AttributeError/],
  "the runtime by its name": ["import js\nprint('leaked', js.Deno)", /AttributeError/],
  "the process": ["import js\nprint('leaked', js.process)", /AttributeError/],
  "the global object": ["import js\nprint('leaked', js.globalThis)", /AttributeError/],
  "eval of the engine": ["import js\nprint('leaked', js.eval('1'))", /AttributeError/],
  "run_js": ["from pyodide.code import run_js\nprint('leaked', run_js('1'))", /ImportError/],
  "a function made of text": [`${ENGINE}print('leaked', F.new('return 1')())`, /EvalError/],
  "a function made of text, by another way": [
    `${ENGINE}print('leaked', p.loadPackage.constructor.new('return 1')())`,
    /EvalError|TypeError/,
  ],
  "code imported by the engine": [`${ENGINE}print('leaked', F('return import("node:fs")')())`, /EvalError/],
  "pyfetch": [
    "from pyodide.http import pyfetch\nprint('leaked', await pyfetch('http://127.0.0.1:1/'))",
    /Error/,
  ],
  "open_url": ["from pyodide.http import open_url\nprint('leaked', open_url('http://127.0.0.1:1/').read())", /Error/],
  "urllib": ["import urllib.request as u\nprint('leaked', u.urlopen('http://127.0.0.1:1/'))", /OSError/],
  "http.client": [
    "import http.client as h\nc = h.HTTPConnection('127.0.0.1', 1)\nc.request('GET', '/')\nprint('leaked')",
    /Error/,
  ],
  "a socket": ["import socket\nsocket.create_connection(('127.0.0.1', 1))\nprint('leaked')", /OSError/],
  "a name server": ["import socket\nsocket.create_connection(('localhost', 1))\nprint('leaked')", /Error/],
  "micropip": ["import micropip\nawait micropip.install('six')\nprint('leaked')", /ModuleNotFoundError/],
  "a package of the distribution": [
    "import pyodide_js as p\nawait p.loadPackage('micropip')\nimport micropip\nprint('leaked')",
    /Error/,
  ],
  "a package from an address": [
    "import pyodide_js as p\nawait p.loadPackage('http://127.0.0.1:1/a-1-py3-none-any.whl')\nimport a\nprint('leaked')",
    /Error/,
  ],
  "a mount of the machine": [
    "import pyodide_js as p\np.FS.mkdir('/host')\np.mountNodeFS('/host', '/')\nimport os\nprint('leaked', os.listdir('/host'))",
    /Error/,
  ],
  "a mount by the engine's own word": [
    "import pyodide_js as p\np.FS.mkdir('/host2')\np.FS.mount(p.FS.filesystems.NODEFS, p.toPy({'root': '/'}), '/host2')\n" +
    "import os\nprint('leaked', os.listdir('/host2'))",
    /Error/,
  ],
  "the machine's files": ["print('leaked', open('/etc/passwd').read())", /FileNotFoundError/],
  "the process's variables": ["print('leaked', open('/proc/self/environ').read())", /Error/],
  "fork": ["import os\nprint('leaked', os.fork())", /Error/],
  "a program": ["import subprocess\nprint('leaked', subprocess.run(['ls']))", /Error/],
  "os.system": ["import os\nif os.system('ls') != 0: raise OSError('refused')\nprint('leaked')", /OSError/],
  "os.execv": ["import os\nos.execv('/bin/ls', ['ls'])\nprint('leaked')", /Error/],
  "a thread": ["import threading\nthreading.Thread(target=print).start()\nprint('leaked')", /RuntimeError/],
  "processes": ["import multiprocessing as m\nm.Process(target=print).start()\nprint('leaked')", /Error/],
  "a library by ctypes": ["import ctypes\nctypes.CDLL('libc.so.6')\nprint('leaked')", /Error/],
  "input": ["input()\nprint('leaked')", /Error/],
  "endless recursion": ["def f(n): return f(n + 1)\nf(0)\nprint('leaked')", /RecursionError/],
  "much memory": ["x = bytearray(10**9)\nprint('leaked')", /MemoryError/],
  "much memory, a little at a time": ["x = []\nwhile True: x.append(bytearray(10**6))", /MemoryError/],
};

Deno.test("interpreter: code reaches no network, no file and no program, and what it is refused it can read", async (t) => {
  await withContainers({}, async ({ ran }) => {
    for (const [name, [code, words]] of Object.entries(REFUSED)) {
      await t.step(name, async () => {
        const { stdout, stderr, exitCode } = await ran(code);
        assert(!stdout.includes("leaked"), stdout);
        assertMatch(stderr, words);
        assertEquals(exitCode, 1);
        assertEquals((await ran("x = None\n'still here'")).stdout, "'still here'\n");
      });
    }
  });
});

Deno.test("interpreter: Python sees an environment of its own, and nothing of the machine's", async () => {
  await withContainers({}, async ({ ran }) => {
    const { stdout } = await ran("import os, sys\nprint(dict(os.environ), sys.argv, sys.executable, os.getcwd())");
    assertStringIncludes(stdout, "/mnt/data");
    for (const own of [Deno.cwd(), Deno.execPath(), Deno.env.get("PATH")!]) assert(!stdout.includes(own), stdout);
    const { stdout: found } = await ran("import os\nprint(os.listdir('/'), os.listdir('/home'), os.getpid())");
    assert(!found.includes("work") && !found.includes("etc"), found);
  });
});

Deno.test("interpreter: with the engine's objects in hand there is nothing to call either", async () => {
  await withContainers({}, async ({ ran }) => {
    const names = ["Deno", "process", "fetch", "Worker", "WebSocket", "postMessage", "localStorage", "caches"];
    // The prototypes of all objects are within reach, and through them each function. Globals are not.
    const { stdout, stderr } = await ran(
      `${ENGINE}found = [n for n in ${JSON.stringify(names)} if hasattr(M, n) or hasattr(p, n)]\nprint(found)`,
    );
    assertEquals([stdout, stderr], ["[]\n", ""]);
  });
});

/** Code after which the container is gone. */
const ENDED: Readonly<Record<string, string>> = {
  "memory of the engine":
    `${ENGINE}b = []\nwhile True:\n  x = M.HEAP8.constructor.new(10**8)\n  x.fill(1)\n  b.append(x)`,
  "a stack without an end": "import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1)\nf(0)",
  "an end of Python itself": "import os\nos.abort()",
};

Deno.test("interpreter: code that brings Python down or takes all memory loses its container, and no other", async (t) => {
  await withContainers({ most: 3 }, async ({ run, ran, containers }) => {
    await ran("kept = 1", { container: "other", owner: "bob" });
    for (const [name, code] of Object.entries(ENDED)) {
      await t.step(name, async () => {
        assertEquals(await run(code), { error: "failed" });
        assertEquals(containers.expiryOf("one", "ann"), undefined);
        assertEquals(await run("1", { isNew: false }), { error: "expired" });
      });
    }
    assertEquals((await ran("kept", { container: "other", owner: "bob" })).stdout, "1\n");
  });
});

Deno.test("interpreter: an endless loop is ended with its container", async (t) => {
  await withContainers({ timeoutMs: 3_000 }, async ({ run }) => {
    const loops = {
      "a loop": "while True: pass",
      "a loop that catches everything": "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
      "endless output": "while True: print('x' * 1000)",
      "a wait without an end": "import asyncio\nawait asyncio.Event().wait()",
      "a regular expression": "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
      "a number": "10 ** 10 ** 10",
    };
    for (const [name, code] of Object.entries(loops)) {
      await t.step(name, async () => assertEquals(await run(code), { error: "late" }));
    }
  });
});

Deno.test("interpreter: output beyond the limit is dropped, and its reader is told so", async () => {
  await withContainers({}, async ({ ran }) => {
    const { stdout, stderr } = await ran("import sys\nprint('y' * 10**6)\nprint('z' * 10**6, file=sys.stderr)");
    for (const text of [stdout, stderr]) assertMatch(text, /^[yz]{2000}\n\[cut off after 2000 characters\]$/);
    const large = await ran("open('big', 'wb').write(bytes(200_000))\nopen('small', 'w').write('hi')");
    assertEquals(large.files, [{ name: "small", data: "aGk=" }]);
    assertStringIncludes(large.stderr, "big stays in the container");
    const many = await ran("for i in range(100): open(f'f{i}', 'w').write('a')");
    assertEquals(many.files.length, 32);
  });
});

Deno.test("interpreter: code that replaces or closes its streams keeps its container, and the next code prints", async (t) => {
  await withContainers({}, async ({ ran }) => {
    const codes = {
      "a closed file": "import sys\nwith open('log', 'w') as sys.stdout: print('in')",
      "none": "import sys\nsys.stdout = sys.stderr = None",
      "an error after it": "import sys\nsys.stderr = None\n1 / 0",
    };
    for (const [name, code] of Object.entries(codes)) {
      await t.step(name, async () => {
        const { stderr } = await ran(code);
        assertEquals(stderr.includes("ZeroDivisionError"), code.includes("1 / 0"));
        assertEquals((await ran("print('here')", { isNew: false })).stdout, "here\n");
      });
    }
  });
});

Deno.test("interpreter: a file that is put again replaces that of the container, unless only missing ones are wanted", async () => {
  await withContainers({}, async ({ ran }) => {
    const files = [{ name: "a", data: btoa("put") }, { name: "b", data: btoa("put") }];
    const look = (onlyMissing: boolean) => ran("print(open('a').read(), open('b').read())", { files, onlyMissing });
    await ran("open('a', 'w').write('made')");
    assertEquals((await look(true)).stdout, "made put\n");
    assertEquals((await look(false)).stdout, "put put\n");
  });
});

Deno.test("interpreter: work that goes on after its execution ends the process", async () => {
  await withContainers({}, async ({ run, containers }) => {
    const spin =
      "import asyncio\nasync def spin():\n  while True: await asyncio.sleep(0)\nt = asyncio.ensure_future(spin())";
    await run(spin);
    while (containers.expiryOf("one", "ann") !== undefined) await new Promise((resolve) => setTimeout(resolve, 50));
    assertEquals(await run("1", { isNew: false }), { error: "expired" });
  });
});

Deno.test("interpreter: nothing of a session is left for the next", async () => {
  await withContainers({ most: 1 }, async ({ ran, containers }) => {
    await ran(
      "import builtins, os, sys\nsecret = 'tea'\nbuiltins.secret = 'tea'\nsys.secret = 'tea'\nos.environ['SECRET'] = 'tea'\n" +
        "open('/mnt/data/secret', 'w').write('tea')\nopen('/tmp/secret', 'w').write('tea')\nbuiltins.print = None",
    );
    const look = "import builtins, os, sys\n" +
      "print('secret' in globals(), hasattr(builtins, 'secret'), hasattr(sys, 'secret'), 'SECRET' in os.environ, " +
      "os.path.exists('/mnt/data/secret'), os.path.exists('/tmp/secret'))";
    // With one process, the second container takes the place of the first.
    assertEquals((await ran(look, { container: "two", owner: "bob" })).stdout, `${Array(6).fill("False").join(" ")}\n`);
    assertEquals(containers.expiryOf("one", "ann"), undefined);
  });
});
