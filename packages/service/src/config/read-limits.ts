import { readSlots } from "@heddle/trace-store";
import { defaultLimits } from "./limit-settings.js";
import type { Limits } from "./limit-settings.js";

type LimitVariable =
  | "HEDDLE_MAX_RESPONSE"
  | "HEDDLE_WORKING_MEMORY"
  | "HEDDLE_RESPONSE_STALL_SECONDS"
  | "HEDDLE_READS_PER_KEY"
  | "HEDDLE_READS_PER_ENTITY"
  | "HEDDLE_OTLP_MAX_SPANS";

/** Reads the settings that limit requests. Throws a RangeError that names the setting. */
export function readLimits(get: (name: LimitVariable) => string | undefined): Limits {
  const bytes = (name: LimitVariable, otherwise: number) => {
    const text = get(name);
    const value = text === undefined ? otherwise : parseBytes(text);
    if (value >= 1e6) return value;
    throw new RangeError(`${name} must be at least 1MB, for example 64MB, not "${text}".`);
  };
  const integer = (name: LimitVariable, otherwise: number, most: number) => {
    const text = get(name);
    const value = text === undefined ? otherwise : Number(text);
    if (Number.isInteger(value) && value >= 1 && value <= most) return value;
    throw new RangeError(`${name} must be a whole number from 1 to ${most}, not "${text}".`);
  };
  const limits: Limits = {
    maxResponseBytes: bytes("HEDDLE_MAX_RESPONSE", defaultLimits.maxResponseBytes),
    workingMemoryBytes: bytes("HEDDLE_WORKING_MEMORY", defaultLimits.workingMemoryBytes),
    responseStallMs: 1000 * integer("HEDDLE_RESPONSE_STALL_SECONDS", defaultLimits.responseStallMs / 1000, 3600),
    readsPerKey: integer("HEDDLE_READS_PER_KEY", defaultLimits.readsPerKey, readSlots),
    readsPerEntity: integer("HEDDLE_READS_PER_ENTITY", defaultLimits.readsPerEntity, readSlots),
    maxExportSpans: integer("HEDDLE_OTLP_MAX_SPANS", defaultLimits.maxExportSpans, 1_000_000),
  };
  // One key has half of the memory: a response that is permitted must fit into it.
  if (limits.workingMemoryBytes < 2 * limits.maxResponseBytes) {
    throw new RangeError("HEDDLE_WORKING_MEMORY must be at least twice HEDDLE_MAX_RESPONSE.");
  }
  return limits;
}

/** `2GB`, `1.5 GiB`, `900MB`; NaN or 0 for anything else. */
export function parseBytes(text: string): number {
  const [, number, unit = ""] = /^(\d+(?:\.\d+)?)\s*([MG]i?B)$/.exec(text) ?? [];
  const units: Record<string, number> = { MB: 1e6, GB: 1e9, MiB: 2 ** 20, GiB: 2 ** 30 };
  return Math.floor(Number(number) * (units[unit] ?? 0));
}
