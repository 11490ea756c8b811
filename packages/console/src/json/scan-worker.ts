import { jsonChildren } from "./json-children.js";
import type { ScanRequest, ScanResponse } from "./scan-messages.js";

// The thread of one text.
let text = "";

addEventListener("message", ({ data }: MessageEvent<ScanRequest>) => {
  const { id, from, to, skip } = data;
  text = data.text ?? text;
  const respond = (response: ScanResponse) => postMessage(response);
  try {
    respond({ id, found: jsonChildren(text, from, to, skip) });
  } catch (error) {
    respond({ id, failed: String(error) });
  }
});
