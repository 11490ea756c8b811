#!/usr/bin/env node
import { runCommand } from "./cli/run.js";

const code = await runCommand(process.argv.slice(2));
// The engine's client keeps sockets for a moment longer than anybody needs them.
process.exit(code);
