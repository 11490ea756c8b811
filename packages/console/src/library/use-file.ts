import { fileContent } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../session/session-context.js";

/** Bytes of a file that are shown. */
const shownBytes = 1_000_000;

/** A file as text, or how long it is where it is none. */
export function useFile(projectId: string, digest: string | undefined) {
  const session = useSession();
  return useQuery({
    queryKey: ["file", projectId, digest],
    queryFn: async ({ signal }) => {
      const bytes = await fileContent(session.connection, { project_id: projectId, digest: digest ?? "" }, { signal });
      return textOf(bytes);
    },
    staleTime: Infinity,
    enabled: digest !== undefined,
  });
}

/** Bytes that are not UTF-8, or more than a page shows, are only counted. */
function textOf(bytes: Uint8Array): { text: string } | { bytes: number } {
  if (bytes.byteLength > shownBytes) return { bytes: bytes.byteLength };
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { bytes: bytes.byteLength };
  }
}
