/** Address of the console, with a slash at its end: it follows from the page, which any prefix of a proxy may precede. */
export const consoleUrl = (): URL => new URL(document.baseURI);

/** Address of the service, without a slash at its end. */
export const serviceUrl = (): string => new URL("..", consoleUrl()).href.replace(/\/$/, "");
