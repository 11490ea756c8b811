import { useSyncExternalStore } from "react";
import { isPageVisible, onPageVisibility } from "../data/page-visibility.js";

/** Whether the page can be seen. */
export const useIsVisible = (): boolean => useSyncExternalStore(onPageVisibility, isPageVisible);
