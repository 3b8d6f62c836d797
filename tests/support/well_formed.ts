export * from "../../src/testing/well_formed.ts";
