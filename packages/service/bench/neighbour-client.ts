import { Agent } from "node:http";
import { runNeighbour } from "./neighbour-load.js";
import type { NeighbourLoad } from "./neighbour-load.js";
import type { ServiceProcess } from "./service-process.js";

// A program: the neighbour alone in a process, whose event loop nobody else keeps busy.

export interface NeighbourRun {
  neighbour: Pick<ServiceProcess, "url" | "key">;
  load: NeighbourLoad;
  seconds: number;
}

const agent = new Agent({ keepAlive: true });
process.on("disconnect", () => process.exit());
process.on("message", ({ neighbour, load, seconds }: NeighbourRun) => {
  void runNeighbour(neighbour, agent, load, seconds).then((result) => process.send?.(result));
});
