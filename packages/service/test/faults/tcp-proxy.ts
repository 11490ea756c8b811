import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

/** Passes connections on to a server, until it is cut. */
export interface TcpProxy {
  port: number;
  /** Runs `work` while the server cannot be reached: connections end, and new ones are refused. */
  whileCut(work: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

export async function openProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let isCut = false;
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
    async close() {
      server.close();
      cut();
    },
  };
}
