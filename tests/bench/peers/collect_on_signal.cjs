/** Preloaded into peers on Node: SIGUSR2 makes them collect their garbage. */
require("node:v8").setFlagsFromString("--expose-gc");
const gc = require("node:vm").runInNewContext("gc");

process.on("SIGUSR2", () => {
  gc();
  setTimeout(gc, 50).unref();
});
