/** The header of a file to save. Names in every script are in the second form (RFC 6266), which readers that know it prefer. */
export function attachment(given: string): Record<string, string> {
  // The end says what kind of file it is. Nothing of a name is a folder, or changes how it is read on a screen.
  const name = Array.from(given.replaceAll(/[^\p{L}\p{M}\p{N}\p{S}_.-]+/gu, "_"))
    .slice(-100)
    .join("");
  const ascii = name.replaceAll(/[^\w.-]+/g, "_");
  const encoded = encodeURIComponent(name);
  const more = ascii === name ? "" : `; filename*=UTF-8''${encoded}`;
  return { "content-disposition": `attachment; filename="${ascii}"${more}` };
}
