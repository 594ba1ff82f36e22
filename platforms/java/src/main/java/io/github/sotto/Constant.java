package io.github.sotto;

/** An enumeration with the values of sotto.h. */
interface Constant {
    int value();

    /** Returns the constant with a value; null for one that a newer library has added. */
    static <T extends Constant> T find(T[] constants, int value) {
        for (T constant : constants) {
            if (constant.value() == value) {
                return constant;
            }
        }
        return null;
    }
}
