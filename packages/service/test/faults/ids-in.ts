/** The ids of the calls in a stream of JSON Lines, in order. */
export async function idsIn(response: Response): Promise<string[]> {
  const text = await response.text();
  return text
    .split("\n")
    .flatMap((line) => (line === "" ? [] : [(JSON.parse(line) as { id: string }).id]))
    .toSorted();
}
