/** The version of a package that is installed here, also of one whose exports hide its `package.json`. */
export declare function installedVersion(name: string): string;
//# sourceMappingURL=installed.d.ts.map