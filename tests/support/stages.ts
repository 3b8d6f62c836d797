export * from "../../src/testing/stages.ts";
