package codegen

// FileName is fileName, for tests.
var FileName = fileName
