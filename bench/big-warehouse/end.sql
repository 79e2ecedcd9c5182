drop schema fill cascade;
