/** A setting that cannot work; `message` is one line that names it and what to do. */
export class ConfigError extends Error {
  override name = "ConfigError";
}
