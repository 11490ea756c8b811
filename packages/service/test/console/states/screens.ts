/** What runs a script or turns text around where it is not shown as text. Without a slash, so that refs may have it. */
export const hostile = `<img src=x onerror="window.planted=true"><svg onload="window.planted=true">\u202Etxet\u001B[31m`;

/** A screen, where it is, and what of it is seen when it is there. */
export interface Screen {
  path: string;
  /** A selector. */
  ready: string;
  /** Buttons that change something. */
  changes?: string[];
  /** Whether it has words for who may not. */
  saysWhy?: true;
}

export interface Screens {
  screens: Record<string, Screen>;
  /** The page of a share, where there is one. */
  share?: string;
}
