import { Component, createContext, use, useCallback, useMemo, useSyncExternalStore } from "react";
import type { AnchorHTMLAttributes, ComponentType, MouseEvent, ReactNode } from "react";
import { Failure } from "../ui/failure.js";
import type { Change, Destination, HowToGo, ParamsOf, Path, SearchOf } from "./address.js";
import type { Page, Router } from "./router.js";

const Routing = createContext<{ router: Router; page: Page } | undefined>(undefined);

function useRouting() {
  const routing = use(Routing);
  if (routing === undefined) throw new Error("This part needs a router around it.");
  return routing;
}

export function RouterProvider({ router, children }: { router: Router; children: ReactNode }) {
  const page = useSyncExternalStore(router.subscribe, router.page);
  const routing = useMemo(() => ({ router, page }), [router, page]);
  return <Routing value={routing}>{children}</Routing>;
}

/** The screen that the address names. */
export function Outlet({ missing: Missing }: { missing: ComponentType }) {
  const { page } = useRouting();
  if (page.error !== undefined) return <BrokenScreen error={page.error} />;
  if (page.path === undefined) return <Missing />;
  const Screen = page.component;
  return Screen === undefined ? null : (
    <ScreenBoundary key={page.path}>
      <Screen />
    </ScreenBoundary>
  );
}

/** A part of the console that fails leaves the line at the top usable. */
class ScreenBoundary extends Component<{ children: ReactNode }, { error?: unknown }> {
  override state: { error?: unknown } = {};
  static getDerivedStateFromError = (error: unknown) => ({ error });
  override render() {
    return this.state.error === undefined ? this.props.children : <BrokenScreen error={this.state.error} />;
  }
}

/** Also where the service has another version by now: its screens have other files. */
const BrokenScreen = ({ error }: { error: unknown }) => (
  <main className="home">
    <Failure what="The screen cannot be shown." error={error} onRetry={() => location.reload()} />
  </main>
);

/** The names in the address of the page; `from` is the path of the screen that asks. */
export function useParams<P extends Path>(_of: { from: P }): ParamsOf<P>;
export function useParams(_of: { strict: false }): Readonly<Record<string, string | undefined>>;
export function useParams(): object {
  return useRouting().page.params;
}

/** The parameters of the page. */
export const useSearch = <P extends Path>(_of: { from: P }): SearchOf<P> => useRouting().page.search as SearchOf<P>;

/** Goes somewhere, or with `from` changes parameters of the page as long as it is that one. */
export function useNavigate<P extends Path>(of?: { from: P }) {
  const { router } = useRouting();
  const from = of?.from;
  return useCallback(
    (given: (Destination | Change<P>) & HowToGo): Promise<void> => router.navigate(given, from),
    [router, from],
  );
}

type LinkProps = Destination &
  HowToGo &
  Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href"> & {
    /** Whether it says that the page, or one below it, is shown. */
    isOfScreens?: boolean;
  };

/** An address of the console, which the browser can also open elsewhere. */
export function Link({ to, params, search, replace, isOfScreens = false, onClick, children, ...others }: LinkProps) {
  const { router } = useRouting();
  const href = router.href({ to, ...(params && { params }), ...(search && { search }) });
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    const isForBrowser = event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
    if (event.defaultPrevented || isForBrowser || others.target !== undefined) return;
    event.preventDefault();
    void router.navigate({ to, params, search, ...(replace && { replace }) } as Destination & HowToGo);
  };
  // Whoever points at a link will likely follow it; what cannot be loaded is told then.
  const load = () => void router.load(to).catch(() => undefined);
  const { pathname } = location;
  const isShown = isOfScreens && (pathname === href || pathname.startsWith(`${href}/`));
  return (
    <a
      {...(isShown && ({ "data-status": "active", "aria-current": "page" } as const))}
      {...others}
      href={href}
      onClick={follow}
      onFocus={load}
      onPointerEnter={load}
    >
      {children}
    </a>
  );
}
