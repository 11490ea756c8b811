import type { ControlPlaneMigration } from "./migrate.js";

export const leaseAddresses: ControlPlaneMigration = {
  version: 19,
  name: "lease-addresses",
  // Where other processes reach the holder; NULL of one that takes nothing from others.
  statements: ["ALTER TABLE leases ADD COLUMN address TEXT"],
};
