/** What `startEngineHost` takes. */
export interface EngineHostOptions {
  /** Where the engine keeps its data; made when missing, and held by one host at a time. */
  directory: string;
  /** Default: a Unix socket only this user can reach. A port (0 picks one) is guarded by a random password. */
  listen?: "socket" | { port: number };
  /** Resident memory that the host may use; default: half of what the machine or its container has. */
  memoryBytes?: number;
  /** How many hosts share the memory that is the default; default 1. */
  hosts?: number;
  /** Gets one line for each thing that happens: started, restarted, stopped. */
  log?: (line: string) => void;
}
