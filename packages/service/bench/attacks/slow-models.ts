import { startModelServer } from "../model-server.js";

// A program: the model server that the attacker's evaluations use. Says its address.

process.on("disconnect", () => process.exit());
process.send?.((await startModelServer()).url);
