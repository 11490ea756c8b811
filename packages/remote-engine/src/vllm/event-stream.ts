import { HeddleError } from "@heddle/errors";

const maxEventBytes = 64 * 1024 * 1024;

/**
 * Reads the JSON values of a `text/event-stream` body up to `[DONE]`.
 *
 * @throws HeddleError `failed` when the stream ends before `[DONE]` or an event is not JSON.
 */
export async function* readEvents(body: AsyncIterable<Buffer>): AsyncGenerator {
  const decoder = new TextDecoder();
  let buffered = "";
  for await (const bytes of body) {
    buffered += decoder.decode(bytes, { stream: true });
    if (buffered.length > maxEventBytes)
      throw new HeddleError("failed", "the inference server sent an event that is too long");
    const lines = buffered.split(/\r?\n/u);
    buffered = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data:")) continue;
      const data = line.slice("data:".length).trim();
      if (data === "[DONE]") return;
      yield parse(data);
    }
  }
  throw new HeddleError("failed", "the inference server ended the stream before its last event");
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw new HeddleError("failed", "the inference server sent an event that is not JSON");
  }
}
