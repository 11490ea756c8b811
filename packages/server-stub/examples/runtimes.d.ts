// What the examples use of other runtimes. The types of those runtimes cannot be in one program with Node's.

declare const Bun: {
  serve(options: { fetch(request: Request, server: object): Response | Promise<Response>; port?: number }): object;
};

declare const Deno: {
  serve(
    options: { port?: number },
    handler: (request: Request, info: { remoteAddr: object }) => Response | Promise<Response>,
  ): object;
};
