/** What is let out into the process: rejections that nobody handles, warnings. */
export declare class Strays {
    readonly found: string[];
    private readonly onRejection;
    private readonly onException;
    /** Node's own, which prints. */
    private readonly printers;
    private readonly onWarning;
    constructor();
    stop(): void;
}
//# sourceMappingURL=strays.d.ts.map