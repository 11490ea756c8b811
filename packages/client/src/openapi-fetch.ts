import * as openapiFetch from "openapi-fetch";

// The build bundles the library into this module, so that the package needs no other: a registry is not always there. Types
// of its own, because those of the library are not bundled.

/** How the values of a query become text. */
export const createQuerySerializer: () => (query: Readonly<Record<string, unknown>>) => string =
  openapiFetch.createQuerySerializer;

export const createFinalURL: (
  template: string,
  options: {
    baseUrl: string;
    params: { path: Readonly<Record<string, unknown>>; query: Readonly<Record<string, unknown>> };
    querySerializer: (query: Readonly<Record<string, unknown>>) => string;
    pathSerializer: (address: string) => string;
  },
) => string = openapiFetch.createFinalURL;

/** The later win; undefined ones are not sent. */
export const mergeHeaders: (...headers: readonly Readonly<Record<string, string | undefined>>[]) => Headers =
  openapiFetch.mergeHeaders;
