import type { ControlPlaneMigration } from "./migrate.js";

export const modelOrigins: ControlPlaneMigration = {
  version: 23,
  name: "model-origins",
  statements: [
    // JSON of the adapter that is trained, and of where the weights of step 0 are from; NULL for the defaults.
    "ALTER TABLE training_models ADD COLUMN lora TEXT",
    "ALTER TABLE training_models ADD COLUMN origin TEXT",
  ],
};
