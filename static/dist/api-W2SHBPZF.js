import"./chunk-NDMK733K.js";import"./chunk-ZBN7Z26R.js";import"./chunk-Z5TS2T4A.js";import"./chunk-FNQ6GAMY.js";import"./chunk-BGNVVPNI.js";import"./chunk-2HUK6LJJ.js";
