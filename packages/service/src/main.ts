#!/usr/bin/env node
import { runCommand } from "./cli/run.js";

const code = await runCommand(process.argv.slice(2));
// The engine's client keeps idle sockets open, which would keep the process running.
process.exit(code);
