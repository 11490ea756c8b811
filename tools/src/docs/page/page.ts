/** One page of the site, before it is rendered. */
export interface Page {
  /** Its address below the root of the site, without an extension: `tracing/call-start`. */
  path: string;
  title: string;
  /** One sentence or paragraph of plain text, for lists and for search engines. */
  description: string;
  markdown: string;
  /** HTTP method of the operation that the page describes. */
  method?: string;
  /** What readers search for besides the text: operation id and path. */
  keywords?: string;
  /** Ids of the sections that are not searched, because other pages have the same text. */
  unindexed?: readonly string[];
  /** SVG by the address that an image of the text has. */
  figures?: Readonly<Record<string, string>>;
  /** Sizes of pictures in pixels, by the address that an image of the text has. */
  pictures?: Readonly<Record<string, { width: number; height: number }>>;
  /** HTML that follows a section, given by its id; without one, what is above all sections. */
  insert?: { after?: string; html: string };
  /** What is inserted stands with its section beside the others, where there is room. */
  beside?: boolean;
  /** It has tables that are as wide as the window. */
  wide?: boolean;
}

/** Pages of one kind, in reading order. Each page has one entry in the menu. */
export interface Section {
  /** One or two words, for menus. */
  title: string;
  /** Entries of the menu: pages, or lists of pages under a title. */
  menu: (MenuGroup | MenuEntry)[];
  pages: Page[];
}

export interface MenuGroup {
  title: string;
  /** One sentence. Groups that have it are on the first page. */
  about?: string;
  /** Shown with its entries on every page; others are on the pages that they have. */
  open?: boolean;
  entries: MenuEntry[];
}

export interface MenuEntry {
  title: string;
  path: string;
  /** HTTP method of the operation that the page describes. */
  method?: string;
}

/** `callStart` → `call-start`, `Reading lists` → `reading-lists`. */
export function kebabCase(text: string): string {
  return text
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, "-")
    .replace(/[^A-Za-z0-9]+/g, "-")
    .toLowerCase();
}
