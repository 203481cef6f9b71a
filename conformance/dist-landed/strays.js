/** What is let out into the process: rejections that nobody handles, warnings. */
export class Strays {
    constructor() {
        this.found = [];
        this.onRejection = (reason) => void this.found.push(`unhandled rejection: ${String(reason)}`);
        this.onException = (error) => void this.found.push(`uncaught exception: ${String(error)}`);
        /** Node's own, which prints. */
        this.printers = process.listeners('warning');
        this.onWarning = (warning) => {
            if (warning.name === 'MaxListenersExceededWarning')
                this.found.push(`${warning.name}: ${warning.message}`);
            else
                for (const print of this.printers)
                    print(warning);
        };
        process.on('unhandledRejection', this.onRejection);
        process.on('uncaughtException', this.onException);
        process.removeAllListeners('warning');
        process.on('warning', this.onWarning);
    }
    stop() {
        process.off('unhandledRejection', this.onRejection);
        process.off('uncaughtException', this.onException);
        process.off('warning', this.onWarning);
        for (const print of this.printers)
            process.on('warning', print);
    }
}
//# sourceMappingURL=strays.js.map