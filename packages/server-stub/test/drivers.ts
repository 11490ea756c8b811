import { toFetch } from "../src/fetch.js";
import type { HttpServer } from "../src/http.js";
import { listen } from "../src/node/node.js";

export type Send = (path: string, init?: RequestInit & { duplex?: "half" }) => Promise<Response>;

/** Ways to reach a server; `use` calls back with the way and cleans up afterwards. */
export const drivers: Record<string, (server: HttpServer, use: (send: Send) => Promise<void>) => Promise<void>> = {
  node: async (server, use) => {
    const listening = await listen(server);
    try {
      await use((path, init) => fetch(listening.url + path, init));
    } finally {
      await listening.close(0);
    }
  },
  fetch: async (server, use) => {
    const send = toFetch(server);
    await use((path, init) => send(new Request(`http://in-process${path}`, init)));
  },
};
