import { listen } from "@heddle/server-stub/node";
import { server } from "./server.js";

const { url } = await listen(server, { port: 4680 });
console.log(`listening at ${url}`);
