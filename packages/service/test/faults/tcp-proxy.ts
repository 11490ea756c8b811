import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

/** Passes connections on to a server, until it is cut. */
export interface TcpProxy {
  port: number;
  /** Runs `work` while the server cannot be reached: connections end, and new ones are refused. */
  whileCut(work: () => Promise<void>): Promise<void>;
  /** Runs `work` while the server seems to take connections, and to respond to nothing. */
  whileSilent(work: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

export async function openProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let isSilent = false;
  const server = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(target);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
      if (isSilent) one.pause();
    }
  });
  const cut = () => sockets.forEach((socket) => socket.destroy());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async whileCut(work) {
      isCut = true;
      cut();
      await work().finally(() => (isCut = false));
    },
    async whileSilent(work) {
      isSilent = true;
      sockets.forEach((socket) => socket.pause());
      await work().finally(() => {
        isSilent = false;
        sockets.forEach((socket) => socket.resume());
      });
    },
    async close() {
      server.close();
      cut();
    },
  };
}
