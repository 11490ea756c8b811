import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Listens on a free port of this machine; returns the URL. */
export async function listenLocally(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Closes the server and the connections that it has. */
export async function closeNow(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
}
