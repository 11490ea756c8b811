import { HeddleError, withLoc } from "@heddle/errors";
import { checkLiteral } from "../providers/addresses.js";

/** Throws `unprocessable` for a URL to which nothing is sent. Names are resolved, and their addresses checked, later. */
export function checkWebhookUrl(text: string, allowPrivate: boolean): void {
  withLoc(["url"], () => {
    const refused = (message: string) => new HeddleError("unprocessable", message, { loc: [] });
    if (!URL.canParse(text)) throw refused("must be a URL, such as https://hooks.example.com/heddle");
    const url = new URL(text);
    if (url.protocol !== "https:" && !(allowPrivate && url.protocol === "http:"))
      throw refused("must begin with https://");
    if (url.username !== "" || url.password !== "") throw refused("must not have credentials: requests are signed");
    try {
      checkLiteral(url, allowPrivate);
    } catch (cause) {
      throw new HeddleError("unprocessable", "has an address that is not public", { loc: [], cause });
    }
  });
}
