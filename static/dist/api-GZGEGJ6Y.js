import"./chunk-OXU3TFR2.js";import"./chunk-ZBN7Z26R.js";import"./chunk-UQ6WLGCC.js";import"./chunk-BGNVVPNI.js";import"./chunk-POBLIIHJ.js";
