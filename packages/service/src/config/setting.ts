import { ConfigError } from "./config-error.js";

/** What the value of a setting may depend on besides its text. */
export interface SettingContext {
  /** Name of the variable. */
  name: string;
  env: NodeJS.ProcessEnv;
  /** Where relative paths begin. */
  cwd: string;
  /** What `<data dir>` stands for. */
  dataDir: string;
}

/** The values that a setting may have. */
export interface Kind<Value> {
  /** Completes "must be": a whole number from 1 to 64. */
  rule: string;
  /** What the documentation adds to the meaning: 1 to 64. */
  range?: string;
  /** Errors do not repeat the text, which may hold a key or a password. */
  isSecret?: true;
  /** Returns undefined for a text that is not a value. Throws {@link ConfigError} where the rule does not say enough. */
  parse(text: string, context: SettingContext): Value | undefined;
}

/** One environment variable of the service. */
export type Setting<Value = unknown> = {
  name: string;
  kind: Kind<Value>;
  meaning: string;
} & (
  | { /** The text that holds when it is not set. */ default: string }
  | { /** What holds when it is not set, in words: the value is undefined. */ unset: string }
);

/** Settings by the names that the code has for them, in groups. */
export interface SettingsTable {
  [name: string]: Setting | SettingsTable;
}

/** The values of a table. */
export type ValuesOf<Table> = {
  -readonly [Name in keyof Table]: Table[Name] extends { kind: Kind<infer Value> }
    ? Value | (Table[Name] extends { default: string } ? never : undefined)
    : ValuesOf<Table[Name]>;
};

/** Reads the values of a table. Throws {@link ConfigError}. */
export function readSettings<Table extends SettingsTable>(
  table: Table,
  context: Omit<SettingContext, "name">,
): ValuesOf<Table> {
  const entries = Object.entries(table).map(([name, entry]) => [
    name,
    isSetting(entry) ? readSetting(entry, context) : readSettings(entry, context),
  ]);
  return Object.fromEntries(entries) as ValuesOf<Table>;
}

function readSetting(setting: Setting, context: Omit<SettingContext, "name">): unknown {
  const { name, kind } = setting;
  // An empty variable is the usual way to say "unset" in compose files and unit files.
  const text = context.env[name]?.trim() || ("default" in setting ? setting.default : undefined);
  if (text === undefined) return undefined;
  const value = kind.parse(text, { ...context, name });
  if (value !== undefined) return value;
  throw new ConfigError(`${name} must be ${kind.rule}${kind.isSecret === true ? "" : `, not "${text}"`}.`);
}

/** Every setting of a table in its order. */
export function settingsOf(table: SettingsTable): Setting[] {
  return Object.values(table).flatMap((entry) => (isSetting(entry) ? [entry] : settingsOf(entry)));
}

/** What the documentation says of a setting. */
export function describeSetting(setting: Setting): { name: string; default: string; meaning: string } {
  const { name, kind, meaning } = setting;
  return {
    name,
    default: ("default" in setting ? setting.default : setting.unset) || "none",
    meaning: kind.range === undefined ? meaning : `${meaning} (${kind.range})`,
  };
}

function isSetting(entry: Setting | SettingsTable): entry is Setting {
  return typeof entry["name"] === "string";
}
