// A page read from the disk may start no Worker, and the search of Material for MkDocs is one.  Here its script runs in a
// hidden frame instead.  The name of this file tells Material not to load such a script from a network.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = () => undefined; // languages other than English, which this site does not have
      this.started = new Promise((done) => {
        const script = inside.document.createElement("script");
        Object.assign(script, { src: url, onload: () => done(inside) });
        inside.document.body.append(script);
      });
    }

    postMessage(data) {
      this.started.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
  };
}
