/** What a provider is used for. */
export const providerKinds = ["images", "chat-completions", "analysis-models", "router-models", "hardware"] as const;

export type ProviderKind = (typeof providerKinds)[number];

/** Somebody else's model server, as an operator configured it. */
export interface Provider {
  name: string;
  /** Paths are appended to it; it ends in no slash. */
  baseUrl: string;
  apiKey: string | undefined;
  /** The environment variable that should hold the key and is not set. */
  missingKey: string | undefined;
  kinds: readonly ProviderKind[];
  /** Names of models; one that ends in `*` stands for all that begin with the text before. */
  models: readonly string[];
  /** Whether its hosts may have private, loopback and link-local addresses. */
  allowPrivate: boolean;
  /** Origins, besides its own, from which images may be downloaded. */
  downloadOrigins: readonly string[];
  /** Further members of requests for images. */
  imageParameters: Readonly<Record<string, unknown>>;
  /** For a request and its response. */
  timeoutMs: number;
}
