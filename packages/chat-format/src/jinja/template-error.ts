/** A template that cannot be parsed or rendered. The message is meant for the author of the template. */
export class TemplateError extends Error {
  override name = "TemplateError";
}
