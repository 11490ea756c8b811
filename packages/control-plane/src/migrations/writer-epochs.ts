import type { ControlPlaneAddition } from "./migrate.js";

export const writerEpochs: ControlPlaneAddition = {
  name: "writer-epochs",
  statements: [
    // Of each tracing database: the number that was last given to a writer, and the last one that is stored there.
    `CREATE TABLE writer_epochs (
      shard TEXT PRIMARY KEY,
      given BIGINT NOT NULL,
      stored BIGINT NOT NULL
    )`,
  ],
};
