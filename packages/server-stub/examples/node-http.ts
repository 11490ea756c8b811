import { createServer } from "node:http";
import { toNodeListener } from "@heddle/server-stub/node";
import { server } from "./server.js";

createServer(toNodeListener(server)).listen(4680);
