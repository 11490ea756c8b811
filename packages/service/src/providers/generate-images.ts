import { HeddleError } from "@heddle/errors";
import { errorText, jsonObject } from "./json-response.js";
import type { ConnectedProvider } from "./providers.js";

export interface ImageRequest {
  model: string;
  prompt: string;
  n?: number;
}

interface GeneratedImage {
  /** Position in the list `data`. */
  index: number;
  /** The member of the item that held the image or its URL. */
  member: "b64_json" | "url";
  bytes: Buffer;
  media_type: string;
}

export interface GeneratedImages {
  /** The response of the provider without the images: the members that held them are absent in `data`. */
  response: Record<string, unknown>;
  images: readonly GeneratedImage[];
  /** Why an image is missing. */
  error: string | undefined;
}

const maxImages = 10;
/** What a response may hold besides its images. */
const maxRestBytes = 1024 * 1024;

/**
 * Requests images by the OpenAI API. Throws a `HeddleError` whose message is fit for users when the provider sends no
 * images; one image that cannot be read leaves the others.
 */
export async function generateImages(
  provider: ConnectedProvider,
  request: ImageRequest,
  signal: AbortSignal,
): Promise<GeneratedImages> {
  const sent = await provider.send("POST", "/images/generations", {
    body: { ...provider.imageParameters, ...request },
    signal,
  });
  if (sent.status < 200 || sent.status > 299) throw new HeddleError("failed", errorText(sent, provider));
  const response = jsonObject(sent);
  const { data } = response;
  if (!Array.isArray(data)) throw new HeddleError("failed", 'the response has no list "data"');
  if (data.length > maxImages) throw new HeddleError("failed", `the response has more than ${maxImages} images`);

  const images: GeneratedImage[] = [];
  let error: string | undefined;
  const items: Record<string, unknown>[] = [];
  for (const [index, item] of (data as unknown[]).entries()) {
    const rest: Record<string, unknown> = { ...(typeof item === "object" ? item : {}) };
    items.push(rest);
    try {
      const { member, bytes } = await imageOf(rest, provider, signal);
      images.push({ index, member, bytes, media_type: mediaTypeOf(bytes) });
      delete rest[member];
    } catch (caught) {
      if (!(caught instanceof HeddleError)) throw caught;
      error ??= `image ${index}: ${caught.message}`;
    }
    // Never kept in a call, whatever became of the image.
    delete rest["b64_json"];
  }
  const kept = { ...response, data: items };
  if (Buffer.byteLength(JSON.stringify(kept)) > maxRestBytes) {
    throw new HeddleError("failed", `the response holds more than ${maxRestBytes} bytes besides its images`);
  }
  return { response: kept, images, error };
}

async function imageOf(
  { b64_json, url }: Record<string, unknown>,
  provider: ConnectedProvider,
  signal: AbortSignal,
): Promise<Pick<GeneratedImage, "member" | "bytes">> {
  if (typeof b64_json === "string" && b64_json !== "") {
    return { member: "b64_json", bytes: Buffer.from(b64_json, "base64") };
  }
  if (typeof url !== "string" || !URL.canParse(url)) {
    throw new HeddleError("failed", "it has neither b64_json nor a url");
  }
  const { status, body } = await provider.download(url, signal);
  if (status !== 200) throw new HeddleError("failed", `its download ended with status ${status}`);
  return { member: "url", bytes: body };
}

/** Formats that browsers show, by their first bytes. */
const formats: ReadonlyArray<readonly [mediaType: string, fits: (start: string) => boolean]> = [
  ["image/png", (start) => start.startsWith("\x89PNG\r\n\x1a\n")],
  ["image/jpeg", (start) => start.startsWith("\xff\xd8\xff")],
  ["image/webp", (start) => start.startsWith("RIFF") && start.startsWith("WEBP", 8)],
  ["image/gif", (start) => start.startsWith("GIF87a") || start.startsWith("GIF89a")],
];

function mediaTypeOf(bytes: Buffer): string {
  const start = bytes.subarray(0, 16).toString("latin1");
  const [mediaType] = formats.find(([, fits]) => fits(start)) ?? [];
  if (mediaType === undefined) throw new HeddleError("failed", "it is not a PNG, JPEG, WebP or GIF");
  return mediaType;
}
