import type { ComponentType } from "react";
import { fromSegment, toSegment } from "../project/path-segment.js";
import { readSearch, writeSearch } from "../search-params.js";
import type { Address, Change, Destination, HowToGo, Path } from "./address.js";
import { readPath, writePath } from "./path.js";

/** What shows the pages of a path: there from the beginning, or loaded when it is first needed. */
type Screen = { component: ComponentType } | { load: () => Promise<ComponentType> };

/** What an address stands for. */
interface Place {
  /** Undefined where there is no such page. */
  path: Path | undefined;
  params: Readonly<Record<string, string>>;
  search: object;
}

export interface Page extends Place {
  /** Not yet there, or missing. */
  component: ComponentType | undefined;
  /** Why the screen could not be loaded. */
  error?: unknown;
}

interface Options {
  /** In the order in which they are tried. */
  addresses: Record<Path, Address>;
  screens: Record<Path, Screen>;
  /** Paths that only lead to others with the same names, tried last. */
  redirects: Readonly<Record<string, Path>>;
  /** Where all addresses begin, with a slash at the end. */
  base: string;
}

/** Keeps what is shown and the address of the page the same: the address is the state. */
export class Router {
  readonly #options: Options;
  readonly #loaded = new Map<Path, ComponentType>();
  readonly #listeners = new Set<() => void>();
  /** What the address says, which is shown once its screen is loaded. */
  #place: Place;
  #page: Page;

  constructor(options: Options) {
    this.#options = options;
    for (const [path, screen] of Object.entries(options.screens) as [Path, Screen][])
      if ("component" in screen) this.#loaded.set(path, screen.component);
    this.#place = this.#read();
    this.#page = { ...this.#place, component: undefined };
    addEventListener("popstate", () => {
      this.#place = this.#read();
      void this.#show();
    });
    void this.#show();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly page = (): Page => this.#page;

  /** The address, for links. */
  href({ to, params = {}, search = {} }: { to: Path; params?: object; search?: object }): string {
    const names: readonly string[] = this.#options.addresses[to].names ?? [];
    const segments = Object.entries(params as Record<string, string | undefined>).map(([name, value]) => [
      name,
      value !== undefined && names.includes(name) ? toSegment(value) : value,
    ]);
    return `${this.#options.base}${writePath(to, Object.fromEntries(segments))}${writeSearch(search as Record<string, unknown>)}`;
  }

  /** Is done when the page is shown. What a screen asks for that the address no longer names is not done. */
  async navigate<P extends Path>(given: (Destination | Change<P>) & HowToGo, from?: P): Promise<void> {
    const { path, params, search } = this.#place;
    if (given.to === undefined) {
      if (path === undefined || (from !== undefined && path !== from)) return;
      const change: object | ((before: never) => object) = given.search;
      this.#go(path, params, typeof change === "function" ? change(search as never) : change, given.replace);
    } else {
      const isOther = given.to !== path;
      this.#go(given.to, given.params ?? {}, given.search ?? {}, given.replace);
      if (isOther) scrollTo(0, 0);
    }
    await this.#show();
  }

  #go(to: Path, params: object, search: object, replace = false): void {
    const address = this.href({ to, params, search });
    if (replace || address === location.pathname + location.search) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    this.#place = this.#read();
  }

  /** Loads what a link leads to before it is followed. */
  async load(path: Path): Promise<ComponentType> {
    const screen = this.#options.screens[path];
    const component = this.#loaded.get(path) ?? ("component" in screen ? screen.component : await screen.load());
    this.#loaded.set(path, component);
    return component;
  }

  /** What the address names. One that leads elsewhere, or says something badly, is corrected. */
  #read(): Place {
    const { base, redirects, addresses } = this.#options;
    const address = location.pathname.slice(base.length - 1);
    for (const [path, { names = [], search: readParameters }] of Object.entries(addresses) as [Path, Address][]) {
      const segments = readPath(path, address);
      if (segments === undefined) continue;
      const params = Object.fromEntries(
        Object.entries(segments).map(([name, value]) => [name, names.includes(name) ? fromSegment(value) : value]),
      );
      const search = readParameters(readSearch(location.search));
      const written = this.href({ to: path, params, search });
      if (written !== location.pathname + location.search) history.replaceState(null, "", written);
      return { path, params, search };
    }
    for (const [path, to] of Object.entries(redirects)) {
      const params = readPath(path, address);
      if (params === undefined) continue;
      history.replaceState(null, "", this.href({ to, params }));
      return this.#read();
    }
    return { path: undefined, params: {}, search: {} };
  }

  /** At once where the screen is there, so that a key that moves a cursor is answered in the same frame. */
  async #show(): Promise<void> {
    const place = this.#place;
    const { path } = place;
    let component = path && this.#loaded.get(path);
    let error: unknown;
    if (path !== undefined && component === undefined) {
      try {
        component = await this.load(path);
      } catch (reason) {
        error = reason;
      }
    }
    // Somebody went on meanwhile.
    if (place !== this.#place) return;
    this.#page = { ...place, component, ...(error !== undefined && { error }) };
    for (const listener of this.#listeners) listener();
  }
}
