/** What the addresses of one path have besides their names. */
export interface Address {
  /** Reads the parameters. What is not said well is left out. */
  search: (given: Record<string, unknown>) => object;
  /** Names of the path that are users', which may be any text: they are written as `toSegment` has them. */
  names?: readonly string[];
}

/**
 * The module that has the paths adds them, since every screen imports this one.
 * @public
 */
// oxlint-disable-next-line typescript/no-empty-object-type -- filled by declaration merging
export interface Register {}

type Addresses = Register extends { addresses: infer A extends Record<string, Address> } ? A : Record<string, Address>;
export type Path = Extract<keyof Addresses, string>;

/** The parameters of the addresses of a path. */
export type SearchOf<P extends Path> = ReturnType<Addresses[P]["search"]>;

type NamesIn<P extends string> = P extends `${infer Part}/${infer Rest}` ? NameOf<Part> | NamesIn<Rest> : NameOf<P>;
type NameOf<Part extends string> = Part extends `$${infer Name}` ? Name : never;
type OptionalNamesIn<P extends string> = P extends `${string}{-$${infer Name}}${infer Rest}`
  ? Name | OptionalNamesIn<Rest>
  : never;

/** The names in the addresses of a path. */
export type ParamsOf<P extends string> = Record<NamesIn<P>, string> & Partial<Record<OptionalNamesIn<P>, string>>;

/** Somewhere to go. */
export type Destination = {
  [P in Path]: { to: P; search?: SearchOf<P> } & (NamesIn<P> extends never
    ? { params?: ParamsOf<P> }
    : { params: ParamsOf<P> });
}[Path];

/** Other parameters for the page that is shown. */
export interface Change<P extends Path> {
  to?: undefined;
  params?: undefined;
  search: SearchOf<P> | ((given: SearchOf<P>) => SearchOf<P>);
}

/** Whether the address takes the place of the one before, which "back" then does not lead to. */
export interface HowToGo {
  replace?: boolean;
}
