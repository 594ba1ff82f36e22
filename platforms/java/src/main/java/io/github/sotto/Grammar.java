package io.github.sotto;

/** A compiled grammar. It never changes and may be shared between threads. */
public final class Grammar extends Owned {
    private Grammar(long handle) {
        super(new Resource(handle, Native::grammarFree, null));
    }

    /** Compiles a source in the language of the parameters. */
    public static Grammar compile(String source, GrammarParams params) {
        Callbacks callbacks = params.log == null ? null : new Callbacks(params.log);
        byte[] text = Native.toUtf8(source);
        if (params.vocabulary == null) {
            return new Grammar(Native.grammarCompile(text, params, 0, callbacks));
        }
        return params.vocabulary.resource.share(
                vocabulary -> new Grammar(Native.grammarCompile(text, params, vocabulary, callbacks)));
    }

    private static Grammar compile(GrammarLanguage language, String source) {
        GrammarParams params = new GrammarParams();
        params.language = language;
        return compile(source, params);
    }

    /** GBNF, from its rule root. */
    public static Grammar gbnf(String source) {
        return compile(GrammarLanguage.GBNF, source);
    }

    /** JSON that fits a schema. */
    public static Grammar jsonSchema(String schema) {
        return compile(GrammarLanguage.JSON_SCHEMA, schema);
    }

    /** Texts that match a regular expression as a whole. */
    public static Grammar regex(String pattern) {
        return compile(GrammarLanguage.REGEX, pattern);
    }

    /** One of the strings in a JSON array. */
    public static Grammar choices(String array) {
        return compile(GrammarLanguage.CHOICES, array);
    }

    /** The grammar of an image that save made; the image may come from anyone. */
    public static Grammar load(byte[] image) {
        return new Grammar(Native.grammarLoad(image));
    }

    /** The grammar as an image: the same bytes on every platform. */
    public byte[] save() {
        return resource.share(Native::grammarSave);
    }
}
