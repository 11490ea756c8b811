/** One word of a shell. */
export const shellWord = (text: string): string =>
  /^[\w:/.@%=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** What a page has asked for, to be asked for in a shell with a key. */
export const asCurl = (serviceUrl: string, path: string, body: object): string =>
  `curl -u "api:$HEDDLE_API_KEY" ${shellWord(serviceUrl + path)} -d ${shellWord(JSON.stringify(body))}`;
